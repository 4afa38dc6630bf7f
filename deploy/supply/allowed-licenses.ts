/**
 * Licences allowed for shipped packages: each permits use and redistribution with its notice.
 * Separate from license-faults.ts, because people extend the list without a change of the check.
 */
export const ALLOWED_LICENSES: readonly string[] = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'Python-2.0',
  'Unlicense',
];

/** Licences of packages without a valid SPDX licence field, from their LICENSE files. */
export const READ_LICENSES: Readonly<Record<string, string>> = {
  'decko@1.2.0': 'MIT',
  'stickyfill@1.1.1': 'MIT',
  'url-template@2.0.8': 'BSD-3-Clause',
};
