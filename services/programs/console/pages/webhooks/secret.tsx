import { useState } from 'preact/hooks';
import { VERIFY_SAMPLES } from '#pages/webhooks/verify-samples';
import { ShownOnce } from '#view/parts/dialog';
import { CopyButton } from '#view/parts/text';

/** Dialog that shows the secret of an endpoint once. */
export function SecretShown({
  secret,
  isRotated,
  onClose,
}: {
  readonly secret: string;
  /** Whether the secret replaces another secret. */
  readonly isRotated: boolean;
  readonly onClose: () => void;
}) {
  return (
    <ShownOnce
      title="Store this secret now"
      label="Secret of the endpoint"
      value={secret}
      done="I have stored it"
      onClose={onClose}
    >
      <p>
        This is the only time that the secret is shown. Your receiver verifies messages with it.
        {isRotated
          ? ' For 24 hours, messages have a signature of the new and of the old secret, so you can change the receiver without losing a message.'
          : ' Store it in a secret store, not in code. The page of the endpoint shows how to verify messages.'}
      </p>
    </ShownOnce>
  );
}

/** How a receiver verifies messages, in two languages. */
export function VerifySample() {
  const [chosen, setChosen] = useState<string>(VERIFY_SAMPLES[0][0]);
  const text = VERIFY_SAMPLES.find(([language]) => language === chosen)?.[1] ?? '';
  return (
    <>
      <p>
        Messages are signed as in{' '}
        <a href="https://www.standardwebhooks.com" rel="noreferrer">
          Standard Webhooks
        </a>
        . A receiver answers with a status 2xx within 10 seconds. It can get a message twice: ignore
        events whose <code>id</code> you know.
      </p>
      <div class="sample-head">
        {VERIFY_SAMPLES.map(([language]) => (
          <button
            key={language}
            type="button"
            class="is-small"
            aria-pressed={language === chosen}
            onClick={() => setChosen(language)}
          >
            {language}
          </button>
        ))}
        <CopyButton value={text} what="the sample" />
      </div>
      <pre class="sample">{text}</pre>
    </>
  );
}
