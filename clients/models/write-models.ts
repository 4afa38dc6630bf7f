import { readFile, writeFile } from 'node:fs/promises';
import { type ApiDocument, modelDocument } from '#clients/models/model-document';

/* Writes the models of the client libraries from the committed API document (`npm run generate`). */
const api: ApiDocument = JSON.parse(await readFile('docs/openapi.json', 'utf8'));
await writeFile('clients/models/models.json', `${JSON.stringify(modelDocument(api), null, 2)}\n`);
