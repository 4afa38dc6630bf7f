import { readFileSync } from 'node:fs';
import type { ApiDocument } from '#clients/models/model-document';
import { ANSWER_NAMES } from '#clients/models/model-names';

/** The model of the data, or of each item of it, that an endpoint answers, by the endpoint's name. */
export function answerModels(): Map<string, string> {
  const api: ApiDocument = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));
  const models = new Map<string, string>();
  for (const { operationId, responses } of Object.values(api.paths).flatMap(Object.values)) {
    const success = responses['200'] ?? responses['201'];
    const { data } = success?.content?.['application/json']?.schema.properties ?? {};
    const reference = (data?.items ?? data)?.$ref?.split('/').at(-1);
    const name = reference ?? ANSWER_NAMES[operationId];
    if (name !== undefined) models.set(operationId, name);
  }
  return models;
}
