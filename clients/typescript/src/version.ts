/** The version of this package; the same as that of the service it was made with. */
export const VERSION = '1.1.0';
