import { useState } from 'preact/hooks';
import type { CodeSample } from '#pages/instance/code-samples';
import { session } from '#pages/shell/session';
import { CopyButton } from '#view/parts/text';

/** Address that samples name if the console does not know the address of the service. */
const UNKNOWN_ADDRESS = 'https://YOUR-HOST/v1';

/** Address of the service for samples, ending in `/v1`. */
export function serviceAddress(): string {
  const now = session.value;
  return (now.kind === 'signed_in' ? now.me.api_url : undefined) ?? UNKNOWN_ADDRESS;
}

/** Code samples with a switch of the language or framework. */
export function CodePanel({
  samples,
  label = 'Code',
}: {
  readonly samples: readonly CodeSample[];
  readonly label?: string;
}) {
  const [chosen, setChosen] = useState(samples[0]?.language ?? '');
  const text = samples.find(({ language }) => language === chosen)?.text ?? '';
  return (
    <section class="code" aria-label={label}>
      <div class="button-row">
        {samples.map(({ language }) => (
          <button
            key={language}
            type="button"
            class="is-small is-toggle"
            aria-pressed={language === chosen}
            onClick={() => setChosen(language)}
          >
            {language}
          </button>
        ))}
        <CopyButton key={chosen} value={text} what={`the ${chosen} code`} />
      </div>
      <pre>{text}</pre>
      <p class="quiet">
        {text.includes(UNKNOWN_ADDRESS)
          ? 'Insert the host of your API and a key of this account.'
          : 'Insert a key of this account.'}
      </p>
    </section>
  );
}
