/**
 * Parts of each runbook entry. The build of the cluster page defines this constant from
 * docs/runbook.md. No other build defines the constant, so only this file uses it.
 */
declare const RUNBOOK: Readonly<
  Record<string, readonly (readonly [title: string, text: string])[]>
>;

/** Collapsed runbook entry. */
export function RunbookEntry({ name }: { readonly name: string }) {
  const parts = RUNBOOK[name];
  if (parts === undefined) return null;
  return (
    <details class="runbook">
      <summary>
        What to do: runbook, <strong>{name}</strong>
      </summary>
      <dl>
        {parts.map(([title, text]) => (
          <div key={title}>
            <dt>{title}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <p class="quiet">
        From <code>docs/runbook.md#{name.toLowerCase()}</code>.
      </p>
    </details>
  );
}
