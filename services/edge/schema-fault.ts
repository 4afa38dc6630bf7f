import type { z } from 'zod';
import type { FaultReason } from '#fault/error-reasons';
import { type Fault, invalid } from '#fault/fault';

type Issue = z.core.$ZodIssue;

/**
 * The refusal for a body that breaks a field rule: 422 with the JSON path of the first broken field
 * and a reason of the closed set. Source: decision 2.
 */
export function bodyFault(error: z.ZodError): Fault {
  const [issue] = error.issues;
  if (issue === undefined) return invalid('wrong_type', undefined, 'the body is not as documented');
  const field = pathOf(issue);
  const reason = reasonOf(issue);
  return invalid(reason, field === '' ? undefined : field, messageOf(issue, field));
}

/** The refusal for a query that breaks a rule: always 400 (decision 2). */
export function queryFault(error: z.ZodError): Fault {
  const [issue] = error.issues;
  const field = issue === undefined ? 'query' : pathOf(issue);
  const isUnknown = issue?.code === 'unrecognized_keys';
  const reason = isUnknown ? 'unknown_parameter' : 'invalid_parameter';
  const text = isUnknown ? 'no such parameter' : (issue?.message ?? 'not as documented');
  return invalid(reason, field, `${field}: ${text}`);
}

/** A custom issue of a schema may name its reason in `params.reason`. */
type ReasonParams = { readonly reason: FaultReason };

function reasonOf(issue: Issue): FaultReason {
  switch (issue.code) {
    case 'unrecognized_keys':
      return 'unknown_field';
    case 'invalid_value':
      return issue.input === undefined ? 'missing_field' : 'unknown_value';
    case 'too_small':
      return issue.origin === 'number' || issue.origin === 'int' ? 'out_of_range' : 'too_short';
    case 'too_big':
      return issue.origin === 'number' || issue.origin === 'int' ? 'out_of_range' : 'too_long';
    case 'custom':
      return (issue.params as ReasonParams | undefined)?.reason ?? 'wrong_type';
    case 'invalid_type':
      return typeReasonOf(issue);
    case 'invalid_format':
    case 'invalid_union':
    case 'invalid_key':
    case 'invalid_element':
    case 'not_multiple_of':
      return 'wrong_type';
  }
}

/** The one number that a schema of numbers takes for another type is one too large, such as 1e999. */
function typeReasonOf({ expected, input }: z.core.$ZodIssueInvalidType): FaultReason {
  if (input === undefined) return 'missing_field';
  return expected === 'number' && typeof input === 'number' ? 'out_of_range' : 'wrong_type';
}

/** `observations[3].timestamp`: the way one would write it in code. */
function pathOf(issue: Issue): string {
  const keys = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [];
  return [...issue.path, ...keys].reduce<string>((path, part) => {
    if (typeof part === 'number') return `${path}[${part}]`;
    return path === '' ? String(part) : `${path}.${String(part)}`;
  }, '');
}

function messageOf(issue: Issue, field: string): string {
  const where = field === '' ? 'the body' : field;
  if (reasonOf(issue) === 'missing_field') return `${where}: required`;
  if (issue.code === 'unrecognized_keys') return `${where}: no such field`;
  return `${where}: ${issue.message}`;
}
