/**
 * Parts of each runbook entry. The build of the cluster page defines this constant from
 * docs/runbook.md. Separate, because no other build defines the constant.
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
