/** What the runbook says of an alert, part by part; the build takes it from docs/runbook.md. */
declare const RUNBOOK: Readonly<
  Record<string, readonly (readonly [title: string, text: string])[]>
>;

/** An entry of the runbook by its name, closed until someone wants it. */
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
