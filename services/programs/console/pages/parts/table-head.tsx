/**
 * Column headings of a table. `unseen` names a last column without a visible heading, for example a
 * column of buttons.
 */
export function TableHead({
  names,
  unseen,
}: {
  readonly names: readonly string[];
  readonly unseen?: string | undefined;
}) {
  return (
    <thead>
      <tr>
        {names.map((name) => (
          <th key={name} scope="col">
            {name}
          </th>
        ))}
        {unseen === undefined ? null : (
          <th scope="col">
            <span class="unseen">{unseen}</span>
          </th>
        )}
      </tr>
    </thead>
  );
}
