import { useRef } from 'preact/hooks';

/** Idempotency keys of a form, so that a retry is applied once. */
export type IdempotencyKeys = {
  /** Returns the same key for the same request. */
  readonly keyFor: (wanted: unknown) => string;
  /** Ends the request. The next request gets a new key, even with the same content. */
  readonly done: () => void;
};

/**
 * Hook for the idempotency keys of one form. A second click or a retry after a lost answer has no
 * second effect.
 */
export function useIdempotencyKeys(): IdempotencyKeys {
  const newest = useRef({ text: '', key: '' });
  return {
    keyFor(wanted) {
      const text = JSON.stringify(wanted);
      if (text !== newest.current.text) newest.current = { text, key: randomKey() };
      return newest.current.key;
    },
    done() {
      newest.current = { text: '', key: '' };
    },
  };
}

/** Returns a new key: 128 random bits in hexadecimal. `randomUUID` is unavailable on pages without TLS. */
export function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
