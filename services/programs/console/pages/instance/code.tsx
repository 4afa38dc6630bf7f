import { useState } from 'preact/hooks';
import type { CodeSample } from '#pages/instance/code-samples';
import { CopyButton } from '#view/parts/text';

/** Code samples with a language switch. */
export function CodePanel({ samples }: { readonly samples: readonly CodeSample[] }) {
  const [language, setLanguage] = useState<CodeSample['language']>('curl');
  const sample = samples.find((each) => each.language === language);
  return (
    <section class="code" aria-label="Code">
      <div class="button-row">
        {samples.map((each) => (
          <button
            key={each.language}
            type="button"
            class="is-small is-toggle"
            aria-pressed={each.language === language}
            onClick={() => setLanguage(each.language)}
          >
            {each.language}
          </button>
        ))}
        <CopyButton value={sample?.text ?? ''} what={`the ${language} code`} />
      </div>
      <pre>{sample?.text}</pre>
      <p class="quiet">Insert the host of your API and a key of this account.</p>
    </section>
  );
}
