import { useEffect, useState } from 'preact/hooks';
import { api } from '#pages/api';
import { useAction } from '#pages/loaded';
import { type EntryLink, entryLink } from '#pages/router';
import { goOn, refreshMe, session } from '#pages/session';
import { rememberAccountOf } from '#pages/sign-in-account';
import { Doorway } from '#view/doorway';
import { submitted, TextField, type Values } from '#view/field';
import { RefusalNotice } from '#view/notice';

const FIELDS = ['email', 'name', 'password'];

/** How people come in by a link: the first owner sets the console up, others accept an invitation. */
export function EntryPage({ link }: { readonly link: EntryLink }) {
  const isSetUp = link.kind === 'set-up';
  const { run, isBusy, refusal } = useAction(async (values: Values) => {
    const state = await entered(link, values);
    rememberAccountOf(link.token);
    entryLink.value = undefined;
    await goOn(state);
  });
  const [isCodeNeeded, setCodeNeeded] = useState(false);
  useEffect(() => {
    if (refusal?.reason === 'second_factor_needed') setCodeNeeded(true);
  }, [refusal]);
  const leave = () => {
    entryLink.value = undefined;
  };
  const own = session.value.kind === 'signed_in' ? session.value.me.user.email : undefined;
  return (
    <Doorway
      title={isSetUp ? 'Set up the console' : 'Accept the invitation'}
      lead={
        isSetUp
          ? 'You become the first owner of this account. The link works once.'
          : 'You become a member of the account that invites you, under the address it was sent to.'
      }
    >
      <form onSubmit={submitted(run)} aria-busy={isBusy}>
        {isSetUp ? (
          <TextField
            {...{ name: 'email', label: 'Email', refusal, autocomplete: 'username' }}
            type="email"
            hasFocus
          />
        ) : null}
        <TextField
          {...{ name: 'name', label: 'Your name', refusal, autocomplete: 'name' }}
          maxLength={100}
          hasFocus={!isSetUp}
        />
        <TextField
          {...{ name: 'password', label: 'Password', refusal, autocomplete: 'new-password' }}
          type="password"
          hint={
            isSetUp
              ? '12 characters or more. A few words are better than signs.'
              : '12 characters or more. If you were a member of this account before: that password.'
          }
        />
        {isCodeNeeded ? (
          <TextField
            {...{ name: 'code', label: 'Code of your second factor', refusal }}
            inputMode="numeric"
            hasFocus
          />
        ) : null}
        <RefusalNotice refusal={refusal} fields={FIELDS} />
        <button type="submit" class="is-main is-wide" disabled={isBusy}>
          {isBusy ? 'One moment …' : isSetUp ? 'Set up' : 'Join'}
        </button>
      </form>
      {isSetUp || own === undefined ? null : <JoinPart link={link} email={own} />}
      <p class="doorway-links">
        <button type="button" class="is-link" onClick={leave}>
          Sign in instead
        </button>
      </p>
    </Doorway>
  );
}

/** Who is signed in joins with the user that is there, if the invitation is for its address. */
function JoinPart({ link, email }: { readonly link: EntryLink; readonly email: string }) {
  const { run, isBusy, refusal } = useAction(async () => {
    await api.joinAccount({ token: link.token });
    entryLink.value = undefined;
    await refreshMe();
  });
  return (
    <>
      <RefusalNotice refusal={refusal} />
      <button type="button" class="is-wide" disabled={isBusy} onClick={() => run()}>
        Join as {email}, who is signed in
      </button>
    </>
  );
}

function entered({ kind, token }: EntryLink, values: Values) {
  const { email = '', name = '', password = '', code } = values;
  const proof = code === undefined ? {} : { code };
  return kind === 'set-up'
    ? api.setUp({ token, email, name, password, ...proof })
    : api.acceptInvitation({ token, name, password, ...proof });
}
