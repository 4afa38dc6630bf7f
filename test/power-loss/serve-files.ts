import { createInterface } from 'node:readline';
import { readConfig } from '#config';
import { openStandalone } from '#startup/standalone';

/*
 * Runs the service on one file after another in one process, so that modules are loaded only once.
 * Each input line names a file, which is served until the next line. Prints the welcome of
 * `standalone` and "opened", then "closed"; or "failed: <reason>".
 */

const print = (text: string) => process.stdout.write(`${text}\n`);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
for (;;) {
  const { value: file, done } = await lines.next();
  if (done === true) break;
  try {
    await using _ = await openStandalone(readConfig({ ...process.env, SERVICE_SQLITE_FILE: file }));
    print('opened');
    await lines.next();
  } catch (error) {
    print(`failed: ${error instanceof Error ? error.message : error}`);
    continue;
  }
  print('closed');
}
process.exit(0);
