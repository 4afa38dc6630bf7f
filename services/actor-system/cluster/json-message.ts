const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** Encodes a message of the bus as JSON in UTF-8, readable with `nats sub`. */
export function encodeJson(message: object): Uint8Array {
  return encoder.encode(JSON.stringify(message));
}

/**
 * Decodes JSON in UTF-8 of at most `bytesMax` bytes. Returns undefined for anything else. Never
 * throws.
 */
export function decodeJson(message: Uint8Array, bytesMax: number): unknown {
  if (message.length > bytesMax) return undefined;
  try {
    return JSON.parse(decoder.decode(message));
  } catch {
    return undefined;
  }
}
