import { digestOf } from '#accounts/api-key';
import { CYCLES_PER_MONTH, REQUESTS_PER_MINUTE } from '#bench/service';
import { newAccount } from '#deploy/local/new-account';

/** An account and the digest of a key of it. */
export type BenchAccount = { readonly id: string; readonly keyDigest: string };

/** How many accounts are made at a time. */
const AT_A_TIME = 32;

/** Makes accounts with limits far out of reach, and a key of each, at a limiter's admin port. */
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
