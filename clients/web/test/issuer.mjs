/**
 * An issuer of OpenID Connect on this machine, for tests: node issuer.mjs PORT CLIENT SECONDS
 *
 * CLIENT is the origin of the web client. Access tokens live SECONDS and have their roles where Keycloak has them.
 * Any name and password sign in.
 */
import Provider from "oidc-provider"

const [port, client, seconds] = process.argv.slice(2)
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: "durak-web",
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    redirect_uris: [`${client}/`],
    post_logout_redirect_uris: [`${client}/`],
  }],
  clientBasedCORS: (_context, origin) => origin === client,
  pkce: { required: () => true },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  issueRefreshToken: () => true,
  rotateRefreshToken: true,
  extraTokenClaims: (_context, { accountId }) => ({ name: `${accountId} of the issuer`, realm_access: { roles: ["player"] } }),
  features: {
    devInteractions: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ audience: "durak", scope: "", accessTokenTTL: Number(seconds), accessTokenFormat: "jwt", jwt: { sign: { alg: "RS256" } } }),
    },
  },
})
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"))
