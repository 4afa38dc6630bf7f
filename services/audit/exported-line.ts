import type { StoredAuditLine } from '#storage/audit-store';

/** A line as it stands in an exported trail: as it was hashed, with its hash as a last field. */
export function exportedText({ text, hash }: StoredAuditLine): string {
  return `${text.slice(0, -1)},"hash":"${hash}"}`;
}
