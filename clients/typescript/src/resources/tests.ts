import type { CallOptions } from '../calls/call-options.ts';
import type { Caller } from '../calls/caller.ts';
import type { Questionnaire, Submission, TestAnswer, TestResult } from '../models.ts';
import { resultOf } from '../read-result.ts';
import type { Result } from '../result.ts';

/** Submission options, with the version of the answered test. */
export type SubmitOptions = CallOptions & { readonly version?: string };

/** The personality test (interface 4.3). */
export class Tests {
  readonly #caller: Caller;

  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /** The 35 statements and the answer scale. */
  async questions(options: CallOptions = {}): Promise<Result<Questionnaire>> {
    const path = '/test/questions';
    return resultOf(
      await this.#caller.call({
        ...{ method: 'GET', path, options, repeatable: 'always', isChange: false },
      }),
    );
  }

  /**
   * Scores answers from 1 to 5. The service stores nothing; pass `data.initial_config` to
   * `instances.create`. Throws `InvalidRequestError` with a reason such as `too_few_answers` or
   * `duplicate_question`.
   */
  async submit(
    answers: readonly TestAnswer[],
    options: SubmitOptions = {},
  ): Promise<Result<TestResult>> {
    const { version } = options;
    const body: Submission = {
      ...(version === undefined ? {} : { version }),
      answers: [...answers],
    };
    return resultOf(
      await this.#caller.call({
        ...{ method: 'POST', path: '/test/submit', body, options },
        ...{ repeatable: 'always', isChange: false },
      }),
    );
  }
}
