import type { ApiDocument } from '#clients/models/model-document';
import { ANSWER_NAMES } from '#clients/models/model-names';
import { openApiDocument } from '#edge/document/openapi';

/** Data models of answers by endpoint name. For a list, the model of an item. */
export function answerModels(): Map<string, string> {
  const api = openApiDocument([]) as ApiDocument;
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
