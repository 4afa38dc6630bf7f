import { digestOf } from '#accounts/api-key';
import { CYCLES_PER_MONTH, REQUESTS_PER_MINUTE } from '#bench/processes/service';
import { newAccount } from '#deploy/local/new-account';

/** An account and the digest of its API key. */
export type BenchAccount = { readonly id: string; readonly keyDigest: string };

/** Number of accounts created concurrently. */
const AT_A_TIME = 32;

/**
 * Creates accounts through a limiter's admin port. Each account has one API key and limits that the
 * load cannot reach.
 */
export async function createAccounts(count: number, adminPort: number): Promise<BenchAccount[]> {
  const made: BenchAccount[] = [];
  let started = 0;
  const maker = async () => {
    while (started < count) {
      started += 1;
      made.push(await createAccount(`bench ${started}`, adminPort));
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, maker));
  return made;
}

async function createAccount(name: string, adminPort: number): Promise<BenchAccount> {
  const limits = {
    requests_per_minute: Number(REQUESTS_PER_MINUTE),
    cycles_per_month: Number(CYCLES_PER_MONTH),
  };
  const made = await newAccount(`http://127.0.0.1:${adminPort}`, name, limits);
  return { id: made.accountId, keyDigest: digestOf(made.apiKey) };
}
