import type { EngineAnswer, EngineCommand } from '#grpc/engine-messages';

/** All rows of all generations. */
export const PAGE = { limit: 1_000, offset: 0, isEveryGeneration: true } as const;

/** Every read command of an instance. */
export const QUESTIONS: readonly EngineCommand[] = [
  { kind: 'readInstance' },
  { kind: 'readSnapshot' },
  { kind: 'readContract' },
  { kind: 'readHistory', ...PAGE },
  { kind: 'readHistory', ...PAGE, offset: 300 },
  { kind: 'readDrift', ...PAGE, isPaged: true },
];

/** ETag and body of an answer as one text. */
export const answerText = ({ body, etag }: EngineAnswer): string =>
  `${etag} ${Buffer.from(body).toString()}`;
