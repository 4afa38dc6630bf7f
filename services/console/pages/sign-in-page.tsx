import { api } from '#pages/api';
import { useAction } from '#pages/loaded';
import { goOn } from '#pages/session';
import { Doorway } from '#view/doorway';
import { submitted, TextField } from '#view/field';
import { RefusalNotice } from '#view/notice';

/** Email and password. A sign-in leads back to the page at this address. */
export function SignInPage({ hasEnded }: { readonly hasEnded: boolean }) {
  const { run, isBusy, refusal } = useAction(async (email: string, password: string) => {
    await goOn(await api.signIn({ email, password }));
  });
  return (
    <Doorway title="Sign in">
      {hasEnded ? (
        <p class="notice" role="status">
          Your session has ended. Sign in again to go on where you were.
        </p>
      ) : null}
      <form
        onSubmit={submitted(({ email = '', password = '' }) => run(email, password))}
        aria-busy={isBusy}
      >
        <TextField name="email" label="Email" type="email" autocomplete="username" hasFocus />
        <TextField
          name="password"
          label="Password"
          type="password"
          autocomplete="current-password"
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
