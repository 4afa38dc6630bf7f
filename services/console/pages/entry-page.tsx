import { api } from '#pages/api';
import { useAction } from '#pages/loaded';
import { type EntryLink, entryLink } from '#pages/router';
import { goOn } from '#pages/session';
import { Doorway } from '#view/doorway';
import { submitted, TextField, type Values } from '#view/field';
import { RefusalNotice } from '#view/notice';

const FIELDS = ['email', 'name', 'password'];

/** How people come in by a link: the first owner sets the console up, others accept an invitation. */
export function EntryPage({ link }: { readonly link: EntryLink }) {
  const isSetUp = link.kind === 'set-up';
  const { run, isBusy, refusal } = useAction(async (values: Values) => {
    const state = await entered(link, values);
    entryLink.value = undefined;
    await goOn(state);
  });
  const leave = () => {
    entryLink.value = undefined;
  };
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
              : '12 characters or more. If you have signed in with this email before: that password.'
          }
        />
        <RefusalNotice refusal={refusal} fields={FIELDS} />
        <button type="submit" class="is-main is-wide" disabled={isBusy}>
          {isBusy ? 'One moment …' : isSetUp ? 'Set up' : 'Join'}
        </button>
      </form>
      <p class="doorway-links">
        <button type="button" class="is-link" onClick={leave}>
          Sign in instead
        </button>
      </p>
    </Doorway>
  );
}

function entered({ kind, token }: EntryLink, { email = '', name = '', password = '' }: Values) {
  return kind === 'set-up'
    ? api.setUp({ token, email, name, password })
    : api.acceptInvitation({ token, name, password });
}
