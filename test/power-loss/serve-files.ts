import { createInterface } from 'node:readline';
import { readConfig } from '#config';
import { openStandalone } from '#startup/standalone';

/*
 * Runs the service on one file after the other in one process, to load modules only once. Each
 * input line is a file to serve until the next line. Output: the welcome of `standalone`, then
 * "opened", "closed", or "failed: <why>".
 */

const say = (text: string) => process.stdout.write(`${text}\n`);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
for (;;) {
  const { value: file, done } = await lines.next();
  if (done === true) break;
  try {
    await using _ = await openStandalone(readConfig({ ...process.env, SERVICE_SQLITE_FILE: file }));
    say('opened');
    await lines.next();
  } catch (error) {
    say(`failed: ${error instanceof Error ? error.message : error}`);
    continue;
  }
  say('closed');
}
process.exit(0);
