import type { NewAccount } from '#deploy/local/new-account';
import type { Findings } from '#test/chaos/checks/findings';
import type { EdgeCaller } from '#test/chaos/load/edge-caller';

/** Items per page: the API's maximum. */
const PAGE_ITEMS = 100;

/**
 * Checks through the API, while nothing changes, that `total` equals the number of listed items.
 */
export async function checkPages(
  caller: EdgeCaller,
  { accountId, apiKey }: NewAccount,
  path: string,
  findings: Findings,
): Promise<void> {
  const listed = new Set<string>();
  let count = 0;
  for (let total = 1; count < total; ) {
    const query = `${path.includes('?') ? '&' : '?'}limit=${PAGE_ITEMS}&offset=${count}`;
    const answered = await caller.send({ method: 'GET', path: path + query, apiKey });
    if (answered.kind !== 'answer' || answered.status !== 200) {
      const why = answered.kind === 'answer' ? answered.body : answered.kind;
      findings.add(`${accountId}: ${path} cannot be listed: ${why}`);
      return;
    }
    const { data, pagination } = JSON.parse(answered.body);
    for (const item of data) listed.add(JSON.stringify(item));
    count += data.length;
    ({ total } = pagination);
    if (data.length > 0 || count >= total) continue;
    findings.add(`${accountId}: ${path} counts ${total} and lists ${count}`);
    return;
  }
  if (listed.size !== count) findings.add(`${accountId}: ${path} lists something twice`);
}
