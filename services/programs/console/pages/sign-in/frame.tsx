import type { ComponentChildren } from 'preact';
import { FormName } from '#pages/shell/kept-texts';
import { Page } from '#view/shell/router';

/** Frame of the pages before sign-in. */
export function SignInFrame({
  title,
  lead,
  children,
}: {
  readonly title: string;
  readonly lead?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <main class="sign-in-frame">
      <div class="sign-in-frame-card">
        <p class="brand">
          <BrandSign />
          Identity Engine
        </p>
        <Page title={title} lead={lead}>
          <FormName.Provider value={title}>{children}</FormName.Provider>
        </Page>
      </div>
    </main>
  );
}

/** Logo of the product. */
export function BrandSign() {
  return (
    <svg class="brand-sign" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" />
      <path d="M16 5.5 25.1 10.75v10.5L16 26.5l-9.1-5.25v-10.5z" class="brand-frame" />
      <path d="M16 10.2 21.4 14l-2 6.2-7.6.9-1.6-7.3z" class="brand-shape" />
    </svg>
  );
}
