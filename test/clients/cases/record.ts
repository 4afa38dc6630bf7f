import { writeFile } from 'node:fs/promises';
import { recordedCases } from '#test/clients/cases/recorded';
import { caseText } from '#test/clients/cases/text';

/* Records the wire cases of the client libraries from the service (`npm run generate`). */
for (const [file, cases] of await recordedCases()) {
  await writeFile(`clients/cases/${file}.json`, caseText(cases));
}
