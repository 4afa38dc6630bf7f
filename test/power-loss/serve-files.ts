import { createInterface } from 'node:readline';
import { readConfig } from '#config';
import { openStandalone } from '#startup/standalone';

/*
 * The service on one file after the other, in one process: what a start costs of modules is paid once.
 * Each line of standard input is a file to be served until the next line; the answer is the welcome of
 * `standalone`, then "opened", "closed", or "failed: <why>".
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
