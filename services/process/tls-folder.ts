import { createPrivateKey, type KeyObject, type X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { ConfigError } from '#config';
import { certificatesIn } from '#platform/certificates';
import type { Clock } from '#platform/clock';
import { MISSING } from '#platform/file-content';
import type { FileContents } from '#platform/watched-file';

const PEM_START = '-----BEGIN ';

/** A file of a folder, as it is and as it is read. */
type Read<Value> = { readonly pem: Buffer; readonly parsed: Value };

/**
 * The files of one folder, as they were at one moment: ca.crt, tls.crt and tls.key, as cert-manager
 * writes them. What could never be talked with is refused, at start and afterwards: a file that is
 * not there or no PEM, a key of another certificate, a certificate for another time.
 */
export class TlsFolder {
  readonly #variable: string;
  readonly #folder: string;
  readonly #contents: FileContents;

  constructor(variable: string, folder: string, contents: FileContents) {
    this.#variable = variable;
    this.#folder = folder;
    this.#contents = contents;
  }

  /** What an operator reads of a file that is of no use. */
  unusable(file: string, why: string): ConfigError {
    return new ConfigError(`${this.#variable}: ${join(this.#folder, file)} ${why}`);
  }

  /** Whether there is such a file. Also for one that cannot be read: reading it then says so. */
  has(file: string): boolean {
    return this.#contents.get(join(this.#folder, file)) !== MISSING;
  }

  /** Every certificate of a file, of which there is one at least. */
  certificates(file: string): Read<readonly X509Certificate[]> {
    return this.#read(file, (pem) => {
      const found = certificatesIn(pem);
      if (found.length === 0) throw new Error('no certificate');
      return found;
    });
  }

  /** What the process shows of itself: valid now, and with its own key. */
  own(clock: Clock): { chain: Read<readonly X509Certificate[]>; key: Read<KeyObject> } {
    const chain = this.certificates('tls.crt');
    const key = this.#read('tls.key', createPrivateKey);
    const [shown] = chain.parsed;
    if (shown === undefined || !shown.checkPrivateKey(key.parsed)) {
      throw this.unusable('tls.key', 'is not the key of tls.crt');
    }
    const { validFrom, validTo } = shown;
    const nowMs = clock.wallMs();
    if (nowMs < Date.parse(validFrom)) {
      throw this.unusable('tls.crt', `is valid from ${validFrom} on`);
    }
    if (nowMs >= Date.parse(validTo)) throw this.unusable('tls.crt', `has expired on ${validTo}`);
    try {
      // What parses may still be too weak; a server that is given such a thing refuses every client.
      createSecureContext({ cert: chain.pem, key: key.pem });
    } catch (error) {
      const [why] = (error as Error).message.split('\n');
      throw this.unusable('tls.crt', `is refused by OpenSSL: ${why}`);
    }
    return { chain, key };
  }

  #read<Value>(file: string, parse: (pem: Buffer) => Value): Read<Value> {
    const pem = this.#contents.get(join(this.#folder, file)) ?? 'is not read';
    if (typeof pem === 'string') throw this.unusable(file, pem);
    try {
      // Both parsers would take other forms too, which nothing after them does.
      if (!pem.includes(PEM_START)) throw new Error('no PEM');
      return { pem, parsed: parse(pem) };
    } catch {
      throw this.unusable(file, 'is not what its name says, as PEM');
    }
  }
}
