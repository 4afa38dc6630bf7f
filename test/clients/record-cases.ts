import { writeFile } from 'node:fs/promises';
import { caseText } from '#test/clients/case-text';
import { recordedCases } from '#test/clients/recorded-cases';

/* Records the wire cases of the client libraries from the service (`npm run generate`). */
for (const [file, cases] of await recordedCases()) {
  await writeFile(`clients/cases/${file}.json`, caseText(cases));
}
