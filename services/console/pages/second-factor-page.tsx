import { useState } from 'preact/hooks';
import { api } from '#pages/api';
import { useAction } from '#pages/loaded';
import { goOn, startOver } from '#pages/session';
import { Doorway } from '#view/doorway';
import { submitted, TextField } from '#view/field';
import { RefusalNotice } from '#view/notice';

/** The second step of a sign-in: a code of the authenticator, or one for recovery. */
export function SecondFactorPage() {
  const [isRecovery, setRecovery] = useState(false);
  const { run, isBusy, refusal } = useAction(async (code: string) => {
    await goOn(await api.secondFactor(code.trim()));
  });
  return (
    <Doorway
      title="Second factor"
      lead={
        isRecovery
          ? 'Enter one of your recovery codes. It works once.'
          : 'Enter the six digits that your authenticator shows now.'
      }
    >
      <form onSubmit={submitted(({ code = '' }) => run(code))} aria-busy={isBusy}>
        <TextField
          key={String(isRecovery)}
          name="code"
          label={isRecovery ? 'Recovery code' : 'Code'}
          autocomplete="one-time-code"
          inputMode={isRecovery ? 'text' : 'numeric'}
          hasFocus
        />
        <RefusalNotice refusal={refusal} />
        <button type="submit" class="is-main is-wide" disabled={isBusy}>
          {isBusy ? 'One moment …' : 'Go on'}
        </button>
      </form>
      <p class="doorway-links">
        <button type="button" class="is-link" onClick={() => setRecovery(!isRecovery)}>
          {isRecovery ? 'Use the authenticator' : 'Use a recovery code'}
        </button>
        <button type="button" class="is-link" onClick={startOver}>
          Sign in as someone else
        </button>
      </p>
    </Doorway>
  );
}
