/** Replacement for a secret in the log. */
const CENSOR = '[redacted]';

/**
 * Field names whose values are secrets, in lower case without `_` and `-`. Matches whole names or
 * suffixes, as in `SERVICE_CLUSTER_SECRET`, `api_key` and `keyDigest`.
 */
const SECRET_NAME =
  /^(?:key|cookie|setcookie)$|(?:authorization|secret|password|token|credentials|apikey|privatekey|keydigest)$/;

/** Text that begins like an API key (decision 41), complete or truncated. */
const KEY_LIKE = /svc_sk_[0-9A-Za-z]*/g;

/** Maximum depth of fields and causes. Log lines of this project need at most 5. */
const DEPTH_MAX = 16;

/** Maximum number of fields in an object, and of items in a list. */
const BREADTH_MAX = 100;

/** Maximum number of values in one line. */
const VALUES_MAX = 1_000;

/** Maximum length of a text, in UTF-16 units. A stack has ten lines of up to 200. */
const TEXT_LENGTH_MAX = 4_096;

/**
 * Maximum total length of the texts in one line, in UTF-16 units. Enough for the longest chain of
 * causes.
 */
const TEXTS_LENGTH_MAX = 65_536;

/** Removes every text that begins like an API key from a finished log line. */
export function withoutKeys(line: string): string {
  return line.includes('svc_sk_') ? line.replace(KEY_LIKE, CENSOR) : line;
}

/**
 * Copy of a log line's fields that is safe to write. Values of fields with a secret's name are
 * replaced at any depth. An error is written with type, message, stack and its chain of causes.
 * Cycles, throwing getters and bytes are replaced by a placeholder. Depth, breadth and length are
 * bounded, so that no library's error can fill the log.
 */
export function redacted(fields: object): Record<string, unknown> {
  return new Redaction().fieldsOf(fields, 0);
}

class Redaction {
  /** Objects being copied, to detect cycles. */
  readonly #above = new Set<object>();
  #valuesLeft = VALUES_MAX;
  #lengthLeft = TEXTS_LENGTH_MAX;

  fieldsOf(source: object, depth: number): Record<string, unknown> {
    return this.#fromPairs(
      Object.keys(source).map((name) => [name, () => (source as Record<string, unknown>)[name]]),
      depth,
    );
  }

  #copy(value: unknown, depth: number): unknown {
    if (this.#valuesLeft <= 0) return '[left out]';
    this.#valuesLeft -= 1;
    switch (typeof value) {
      case 'string':
        return this.#shortened(value);
      case 'bigint':
      case 'symbol':
        return this.#shortened(String(value));
      case 'function':
        return undefined;
      case 'object':
        return value === null ? value : this.#copyObject(value, depth);
      default:
        return value;
    }
  }

  #copyObject(value: object, depth: number): unknown {
    if (this.#above.has(value)) return '[circular]';
    if (depth >= DEPTH_MAX) return '[too deep]';
    this.#above.add(value);
    try {
      return this.#copyUnseen(value, depth + 1);
    } catch {
      return '[unreadable]';
    } finally {
      this.#above.delete(value);
    }
  }

  #copyUnseen(value: object, depth: number): unknown {
    if (Error.isError(value)) return this.#copyError(value, depth);
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
      return `[${value.byteLength} bytes]`;
    }
    if (Array.isArray(value) || value instanceof Set) return this.#copyList([...value], depth);
    if (value instanceof Map) {
      const pairs = [...value].map(([name, item]) => [String(name), () => item] as const);
      return this.#fromPairs(pairs, depth);
    }
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === 'function') return this.#copy(toJSON.call(value), depth);
    return this.fieldsOf(value, depth);
  }

  /** `cause` and `errors` are copied first, because they are the most useful fields of an error. */
  #copyError(error: Error, depth: number): Record<string, unknown> {
    const own = error as Error & { errors?: unknown };
    const { name, message, stack, cause, errors, ...others } = own;
    return {
      type: own.constructor?.name ?? own.name,
      message: this.#shortened(String(own.message)),
      stack: this.#shortened(String(own.stack)),
      ...(own.cause === undefined ? {} : { cause: this.#copy(own.cause, depth) }),
      ...(own.errors === undefined ? {} : { errors: this.#copy(own.errors, depth) }),
      ...this.fieldsOf(others, depth),
    };
  }

  #copyList(items: readonly unknown[], depth: number): unknown[] {
    const copies = items.slice(0, BREADTH_MAX).map((item) => this.#copy(item, depth));
    if (items.length > BREADTH_MAX) copies.push(`[${items.length - BREADTH_MAX} more]`);
    return copies;
  }

  #fromPairs(
    pairs: readonly (readonly [name: string, read: () => unknown])[],
    depth: number,
  ): Record<string, unknown> {
    const copies = pairs.slice(0, BREADTH_MAX).map(([name, read]) => {
      const known = this.#shortened(name);
      return [known, isSecretName(known) ? CENSOR : this.#copyOf(read, depth)] as const;
    });
    if (pairs.length > BREADTH_MAX) copies.push(['[more]', pairs.length - BREADTH_MAX]);
    return Object.fromEntries(copies);
  }

  #copyOf(read: () => unknown, depth: number): unknown {
    try {
      return this.#copy(read(), depth);
    } catch {
      return '[unreadable]';
    }
  }

  #shortened(text: string): string {
    const length = Math.min(text.length, TEXT_LENGTH_MAX, this.#lengthLeft);
    this.#lengthLeft -= length;
    return length === text.length ? text : `${text.slice(0, length)}…`;
  }
}

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.replaceAll(/[_-]/g, '').toLowerCase());
}
