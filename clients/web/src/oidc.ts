/**
 * Sign-in at an issuer of OpenID Connect by redirect: authorization code with PKCE, renewal by refresh token.
 * Loaded only if an issuer is configured.
 */
import { ErrorResponse, UserManager, WebStorageStateStore } from "oidc-client-ts"
import { address } from "./address"
import { pause, useToken } from "./calls"
import { session, type Issuer } from "./session"

const RENEWALS = 5

/** Take up the session of this tab, or the answer of the issuer that is in the address. */
export async function openSession(issuer: Issuer): Promise<void> {
  // Each tab has an own refresh token. A shared one would be used twice, and the issuer would then revoke it.
  const store = new WebStorageStateStore({ store: sessionStorage, prefix: "durak." })
  const manager = new UserManager({
    authority: issuer.issuer,
    client_id: issuer.client_id,
    scope: issuer.scope,
    redirect_uri: `${location.origin}/`,
    post_logout_redirect_uri: `${location.origin}/`,
    extraQueryParams: issuer.parameters,
    extraTokenParams: issuer.parameters,
    automaticSilentRenew: false, // the service says when a token has expired
    userStore: store,
    stateStore: store,
  })
  const finished = await comeBack(manager)
  const user = await manager.getUser()
  session.value = {
    issuer,
    failed: !finished && !user,
    signIn: () => manager.signinRedirect({ state: location.hash }),
    renew: () => renew(manager, issuer),
    signOut: () => signOut(manager),
  }
  useToken(user?.access_token ?? "")
}

/** Finish a sign-in, and return to the page where it began. Returns false if the answer of the issuer is of no use. */
async function comeBack(manager: UserManager): Promise<boolean> {
  const query = new URLSearchParams(location.search)
  if (!query.has("state")) return true
  let page = location.hash
  let finished = true
  try {
    const { state } = await manager.signinRedirectCallback()
    page = String(state)
  } catch (error) {
    console.warn("sign-in", error) // the player refused, or the link is old or forged
    finished = false
  }
  history.replaceState(null, "", `/${page}`)
  address.value = page
  return finished
}

async function renew(manager: UserManager, { parameters }: Issuer): Promise<boolean> {
  for (let attempt = 1; attempt <= RENEWALS; attempt++) {
    try {
      if (!(await manager.getUser())?.refresh_token) return false
      const user = await manager.signinSilent({ extraTokenParams: parameters })
      useToken(user!.access_token)
      return true
    } catch (error) {
      if (error instanceof ErrorResponse) return false // the issuer has ended the session
      await pause(250 * 2 ** attempt)
    }
  }
  return false
}

/** Sign out here and at the issuer, as far as the issuer can: revocation and end of session are optional. */
async function signOut(manager: UserManager): Promise<void> {
  await manager.revokeTokens(["refresh_token"]).catch(() => undefined)
  await manager.signoutRedirect().catch(() => manager.removeUser())
}
