/** Version of this package, equal to the version of its service. */
export const VERSION = '1.1.0';
