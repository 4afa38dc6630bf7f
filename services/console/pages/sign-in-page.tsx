import { api } from '#pages/api';
import { useAction } from '#pages/loaded';
import { goOn } from '#pages/session';
import { rememberedAccount } from '#pages/sign-in-account';
import { Doorway } from '#view/doorway';
import { submitted, TextField, type Values } from '#view/field';
import { RefusalNotice } from '#view/notice';

/** Email and password. A sign-in leads back to the page at this address. */
export function SignInPage({ hasEnded }: { readonly hasEnded: boolean }) {
  const { run, isBusy, refusal } = useAction(async (values: Values) => {
    const { email = '', password = '', account_id: account = '' } = values;
    const named = account.trim() === '' ? {} : { account_id: account.trim() };
    await goOn(await api.signIn({ email, password, ...named }));
  });
  return (
    <Doorway title="Sign in">
      {hasEnded ? (
        <p class="notice" role="status">
          Your session has ended. Sign in again to go on where you were.
        </p>
      ) : null}
      <form onSubmit={submitted(run)} aria-busy={isBusy}>
        <TextField name="email" label="Email" type="email" autocomplete="username" hasFocus />
        <TextField
          name="password"
          label="Password"
          type="password"
          autocomplete="current-password"
        />
        <TextField
          {...{ name: 'account_id', label: 'Account id', refusal, maxLength: 12 }}
          value={rememberedAccount() ?? ''}
          hint="Of the account that you first came into by a link. This browser remembers it."
          isOptional
        />
        <RefusalNotice refusal={refusal} />
        <button type="submit" class="is-main is-wide" disabled={isBusy}>
          {isBusy ? 'Signing in …' : 'Sign in'}
        </button>
      </form>
      <p class="hint">
        No password yet? You need the link of an invitation, or the set-up link that the service
        prints when it starts for the first time.
      </p>
    </Doorway>
  );
}
