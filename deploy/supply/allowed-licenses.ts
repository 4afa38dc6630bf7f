/** Licences that what is shipped may have: each lets it be used and passed on with its notice kept. */
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

/** Packages that name no licence, or not in SPDX's words, with what their LICENSE file says. */
export const READ_LICENSES: Readonly<Record<string, string>> = {
  'decko@1.2.0': 'MIT',
  'stickyfill@1.1.1': 'MIT',
  'url-template@2.0.8': 'BSD-3-Clause',
};
