import { writeFile } from 'node:fs/promises';
import { type ApiDocument, modelDocument } from '#clients/models/model-document';
import { openApiDocument } from '#edge/document/openapi';

/* Writes the models of the client libraries from the API document (`npm run generate`). */
const api = openApiDocument([]) as ApiDocument;
await writeFile('clients/models/models.json', `${JSON.stringify(modelDocument(api), null, 2)}\n`);
