import { writeFile } from 'node:fs/promises';
import { exampleAnswers } from '#deploy/apidoc/example-answers';
import { openApiDocument } from '#edge/document/openapi';
import { DOCUMENT_FILE } from '#edge/document/routes';
import { openedDocument } from '#edge/document/schemas';

/*
 * Writes the API document (`npm run generate`). Runs the whole service, whose answers become the
 * examples.
 */
await writeFile(
  DOCUMENT_FILE,
  `${JSON.stringify(openedDocument(openApiDocument(await exampleAnswers())), null, 2)}\n`,
);
