/** Masked value and id of a key. Pages and audit trail name a key by both. */
export function KeyIds({
  id,
  masked,
}: {
  readonly id: string | undefined;
  readonly masked: string | undefined;
}) {
  return (
    <span class="key-ids">
      {masked === undefined ? null : <code>{masked}</code>}
      {id === undefined ? null : <code class="quiet">{id}</code>}
    </span>
  );
}
