/** Package version, equal to the service's version. */
export const VERSION = '1.1.0';
