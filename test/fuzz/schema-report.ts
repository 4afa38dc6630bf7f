import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { SCHEMA_EXCEPTIONS, type SchemaFailure } from '#test/fuzz/schema-exceptions';

/** A Schemathesis report. */
export type SchemaReport = {
  /** Failures without an exception. */
  readonly findings: readonly string[];
  /** Number of accepted failures by name of the exception. */
  readonly excepted: ReadonlyMap<string, number>;
  readonly cases: number;
  /** Whether the run was complete. */
  readonly isComplete: boolean;
};

/** Maximum request length in a finding. */
const SHOWN_LENGTH = 1_000;

type Json = ReturnType<typeof JSON.parse>;

/** Reads a run's NDJSON report. */
export async function readSchemaReport(file: string): Promise<SchemaReport> {
  const findings = new Set<string>();
  const excepted = new Map<string, number>();
  let cases = 0;
  let isComplete = false;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const event: Json = JSON.parse(line);
    isComplete ||= event.EngineFinished !== undefined;
    const problem = event.NonFatalError ?? event.FatalError;
    if (problem !== undefined) findings.add(`an error of the run: ${JSON.stringify(problem)}`);
    const recorder = event.ScenarioFinished?.recorder;
    cases += Object.keys(recorder?.interactions ?? {}).length;
    for (const failure of failuresOf(recorder)) {
      const known = SCHEMA_EXCEPTIONS.find(({ covers }) => covers(failure));
      if (known === undefined) findings.add(textOf(failure));
      else excepted.set(known.name, (excepted.get(known.name) ?? 0) + 1);
    }
  }
  return { findings: [...findings], excepted, cases, isComplete };
}

function failuresOf(recorder: Json): SchemaFailure[] {
  return Object.entries<Json[]>(recorder?.checks ?? {}).flatMap(([id, checks]) =>
    checks
      .filter(({ status }) => status === 'failure')
      .map((check) => failureOf(check, recorder.cases[id]?.value, recorder.interactions[id])),
  );
}

function failureOf(check: Json, sent: Json, interaction: Json): SchemaFailure {
  const { message = '', operation = '' } = check.failure_info?.failure ?? {};
  const response = interaction?.response ?? {};
  const encoded = response.content?.$base64 ?? '';
  const body = parsed(Buffer.from(encoded, 'base64').toString());
  const { method, uri = '' } = interaction?.request ?? {};
  const shown =
    sent === undefined ? '' : JSON.stringify({ headers: sent.headers, body: sent.body });
  return {
    check: check.name,
    message,
    operation,
    request: { headers: sent?.headers ?? {}, text: `${method} ${uri} ${shown}` },
    status: response.status_code ?? 0,
    answerHeaders: response.headers ?? {},
    reason: body?.details?.reason,
    resultStatuses: resultStatusesIn(body),
  };
}

function resultStatusesIn(body: Json): string[] {
  const results = body?.data?.results;
  return Array.isArray(results) ? results.map(({ status }) => status) : [];
}

function textOf({ check, operation, message, status, reason, request }: SchemaFailure): string {
  const [first] = message.split('\n', 1);
  const text = request.text.slice(0, SHOWN_LENGTH);
  return `${check}: ${operation}: ${first}; ${status} ${reason ?? ''}\n  ${text}`;
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
