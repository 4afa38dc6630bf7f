/*
 * Applies the stored theme before the first paint. The document loads this script before its style,
 * and the content security policy allows no inline script. Unknown names mean the system's theme,
 * as in `shell/theme`.
 */
{
  const stored = localStorage.getItem('theme');
  if (stored !== null) document.documentElement.dataset['theme'] = stored;
}
