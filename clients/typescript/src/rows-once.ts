/** Fields that order an instance's rows. */
type Row = { readonly cycle: number; readonly generation?: number };

/** Drops repeated rows from a newest-first list. New rows can shift old rows to a later page. */
export async function* eachRowOnce<T extends Row>(rows: AsyncIterable<T>): AsyncGenerator<T, void> {
  let last: T | undefined;
  for await (const row of rows) {
    if (last !== undefined && !isOlder(row, last)) continue;
    last = row;
    yield row;
  }
}

function isOlder(row: Row, than: Row): boolean {
  const [generation, other] = [row.generation ?? 0, than.generation ?? 0];
  return generation === other ? row.cycle < than.cycle : generation < other;
}
