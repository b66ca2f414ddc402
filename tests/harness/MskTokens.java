import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerExtensionsValidatorCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/**
 * What MSK does with a client's token, in a broker of this machine: it is a URL of kafka-cluster:Connect, signed with
 * the credentials of the process (Signature Version 4). Here one pair of key and secret is known.
 */
public class MskTokens implements AuthenticateCallbackHandler {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);
    private static final Set<String> UNSIGNED = Set.of("X-Amz-Signature", "User-Agent");
    private static final String KEY = System.getProperty("hifi.test.key");
    private static final String SECRET = System.getProperty("hifi.test.secret");
    private static final String REGION = System.getProperty("hifi.test.region");

    @Override
    public void configure(Map<String, ?> settings, String mechanism, List<AppConfigurationEntry> entries) {}

    @Override
    public void close() {}

    @Override
    public void handle(Callback[] callbacks) {
        for (var callback : callbacks) {
            if (callback instanceof OAuthBearerValidatorCallback asked) {
                validate(asked);
            } else if (callback instanceof OAuthBearerExtensionsValidatorCallback asked) {
                asked.inputExtensions().map().keySet().forEach(asked::valid);
            }
        }
    }

    private static void validate(OAuthBearerValidatorCallback asked) {
        try {
            asked.token(token(asked.tokenValue()));
        } catch (Exception error) {
            System.err.println("token refused: " + error.getMessage());
            asked.error("invalid_token", null, null);
        }
    }

    private static OAuthBearerToken token(String value) throws Exception {
        var url = URI.create(new String(Base64.getUrlDecoder().decode(value), StandardCharsets.UTF_8));
        var query = new TreeMap<String, String>();
        for (var part : url.getRawQuery().split("&")) {
            var pair = part.split("=", 2);
            query.put(decoded(pair[0]), pair[1]);
        }
        demand("kafka." + REGION + ".amazonaws.com", url.getHost());
        demand("kafka-cluster:Connect", decoded(query.get("Action")));
        var scope = decoded(query.get("X-Amz-Credential")).split("/", 2);
        demand(KEY, scope[0]);
        demand(signature(url, query, scope[1]), query.get("X-Amz-Signature"));
        var began = ZonedDateTime.parse(query.get("X-Amz-Date"), TIME).toInstant().toEpochMilli();
        var ends = began + 1000 * Long.parseLong(query.get("X-Amz-Expires"));
        if (ends < System.currentTimeMillis()) throw new SecurityException("expired");
        return new Token(value, began, ends);
    }

    private static String signature(URI url, TreeMap<String, String> query, String scope) throws Exception {
        var signed = query.entrySet().stream().filter(each -> !UNSIGNED.contains(each.getKey()))
            .map(each -> each.getKey() + "=" + each.getValue()).collect(Collectors.joining("&"));
        var request = String.join("\n", "GET", "/", signed, "host:" + url.getHost(), "", "host", hash(""));
        var text = String.join("\n", "AWS4-HMAC-SHA256", query.get("X-Amz-Date"), scope, hash(request));
        var key = ("AWS4" + SECRET).getBytes(StandardCharsets.UTF_8);
        for (var part : scope.split("/")) key = hmac(key, part);
        return HexFormat.of().formatHex(hmac(key, text));
    }

    private static String hash(String text) throws Exception {
        var digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
        return HexFormat.of().formatHex(digest);
    }

    private static byte[] hmac(byte[] key, String text) throws Exception {
        var mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String decoded(String text) {
        return URLDecoder.decode(text, StandardCharsets.UTF_8);
    }

    private static void demand(String wanted, String found) {
        if (!wanted.equals(found)) throw new SecurityException(found + " instead of " + wanted);
    }

    private record Token(String value, long began, long lifetimeMs) implements OAuthBearerToken {
        @Override
        public Set<String> scope() {
            return Set.of();
        }

        @Override
        public String principalName() {
            return KEY;
        }

        @Override
        public Long startTimeMs() {
            return began;
        }
    }
}
