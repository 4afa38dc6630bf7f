import { type Job, type Outcome, runFile, runToEnd, withoutServer } from '#test/support/file-run';

type Variables = Readonly<Record<string, string>>;

/**
 * The keyspace of one worker of the run, made when the first job needs it: of two services that share
 * tables one would take everything over from the other.
 */
export class WorkerKeyspace {
  readonly #name: string;
  #migrated: Promise<unknown> | undefined;

  constructor(name: string) {
    this.#name = name;
  }

  /** Runs a job, with its tables if it needs any. */
  async run(job: Job, given: Variables): Promise<Outcome> {
    if (job.topology !== 'cassandra') return await runFile(job, given);
    const address = given['TEST_CASSANDRA'] ?? process.env['TEST_CASSANDRA'];
    if (address === undefined) return withoutServer(job, given['TEST_CASSANDRA_MISSING'] ?? '');
    const tables = {
      SERVICE_CASSANDRA_CONTACT_POINTS: address,
      SERVICE_CASSANDRA_KEYSPACE: this.#name,
    };
    this.#migrated ??= runToEnd(process.execPath, ['services/main.ts', 'migrate'], tables);
    await this.#migrated;
    return await runFile(job, { ...given, TEST_CASSANDRA: address, TEST_KEYSPACE: this.#name });
  }
}
