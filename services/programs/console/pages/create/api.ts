import type {
  CreateInstance,
  Questionnaire,
  TestAnswer,
  TestResult,
} from '#clients/typescript/src/models';
import { get, post } from '#pages/shell/api';

/** Calls that create an instance. Requests and answers are the same as under `/v1`. */
export const createApi = {
  /** Creates an instance. A retry with the same idempotency key creates no second instance. */
  create: (wanted: CreateInstance, idempotencyKey: string) =>
    post<{ readonly id: string }>('/instances', wanted, { 'idempotency-key': idempotencyKey }),
  questions: () => get<Questionnaire>('/test/questions'),
  submitTest: (version: string, answers: readonly TestAnswer[]) =>
    post<TestResult>('/test/submit', { version, answers }),
};
