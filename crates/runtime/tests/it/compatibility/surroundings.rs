//! What a program asks about where it is: user, machine, language, time; and the arithmetic of keys
//! and numbers.

use serde_json::json;

use super::gives;

#[tokio::test]
async fn time_zones_and_locales_are_there() {
    let script = r#"
import datetime as dt, locale, calendar, time, gettext
from zoneinfo import ZoneInfo, available_timezones
out = {}
winter, summer = dt.datetime(2024, 1, 1, tzinfo=ZoneInfo('Europe/Paris')), dt.datetime(2024, 7, 1, tzinfo=ZoneInfo('Europe/Paris'))
out['zone'] = [winter.utcoffset().seconds, summer.utcoffset().seconds, len(available_timezones()) > 300]
os.environ['TZ'] = 'Asia/Tokyo'; time.tzset()
out['tzset'] = [time.tzname[0], time.localtime(0).tm_hour]
out['locale'] = [locale.setlocale(locale.LC_ALL, ''), locale.getpreferredencoding(), locale.localeconv()['decimal_point']]
out['month'] = calendar.month_name[5]
out['text'] = open('/workspace/ü', 'w').write('ü') and os.listdir('/workspace')
emit_result(out)
"#;
    let expected = json!({"zone": [3600, 7200, true], "tzset": ["JST", 9], "locale": ["C.UTF-8", "UTF-8", "."], "month": "May", "text": ["ü"]});
    gives(script, expected).await;
}

#[tokio::test]
async fn user_and_machine_have_names() {
    let script = r#"
import getpass, pwd, grp, platform, pathlib, resource, shutil, sysconfig, site
me = pwd.getpwuid(os.getuid())
out = {
    'user': [getpass.getuser(), me.pw_name, me.pw_dir, grp.getgrgid(os.getgid()).gr_name, str(pathlib.Path.home()), os.path.expanduser('~sandbox')],
    'machine': [platform.system(), platform.node(), platform.python_implementation(), platform.machine() == os.uname().machine],
    'cores': os.cpu_count() >= 1 and len(os.sched_getaffinity(0)) >= 1,
    'limits': resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 16,
    'usage': resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 0,
    'disk': shutil.disk_usage('/workspace').free > 0,
    'which': shutil.which('sh') in ('/usr/bin/sh', '/bin/sh'),
    'paths': os.path.isdir(sysconfig.get_path('stdlib')),
    'load': len(os.getloadavg()),
    'random': len(os.urandom(8)) + len(os.getrandom(8)),
}
emit_result(out)
"#;
    let expected = json!({"user": ["sandbox", "sandbox", "/workspace", "sandbox", "/workspace", "/workspace"],
        "machine": ["Linux", "belljar", "CPython", true], "cores": true, "limits": true, "usage": true, "disk": true, "which": true,
        "paths": true, "load": 3, "random": 16});
    gives(script, expected).await;
}

#[tokio::test]
async fn keys_numbers_and_logs_come_out_right() {
    let script = r#"
import hashlib, hmac, secrets, uuid, decimal, fractions, statistics, logging, logging.handlers, io, base64, pickle, csv, random
out = {}
out['sha'] = hashlib.sha256(b'').hexdigest()[:8]
out['all'] = all(hashlib.new(name, b'x').digest() for name in hashlib.algorithms_guaranteed if not name.startswith('shake'))
out['hmac'] = hmac.compare_digest(hmac.new(b'k', b'm', 'sha256').digest(), hmac.digest(b'k', b'm', 'sha256'))
out['scrypt'] = len(hashlib.scrypt(b'p', salt=b's', n=2, r=1, p=1))
out['fresh'] = len({secrets.token_hex(8) for _ in range(10)} | {str(uuid.uuid4()) for _ in range(10)} | {str(uuid.uuid1()) for _ in range(10)})
decimal.getcontext().prec = 30
out['decimal'] = str(decimal.Decimal(1) / 7)
out['fraction'] = str(fractions.Fraction(1, 3) + fractions.Fraction(1, 6))
out['median'] = statistics.median(random.sample(range(1000), 1000))
stream = io.StringIO()
logger = logging.getLogger('job')
logger.addHandler(logging.StreamHandler(stream))
logger.addHandler(logging.handlers.RotatingFileHandler('/workspace/log', maxBytes=100, backupCount=2))
for n in range(10): logger.warning('line %d', n)
out['log'] = [stream.getvalue().count('line'), sorted(os.listdir('/workspace'))]
emit_result(out)
"#;
    let expected = json!({"sha": "e3b0c442", "all": true, "hmac": true, "scrypt": 64, "fresh": 30, "decimal": "0.142857142857142857142857142857",
        "fraction": "1/2", "median": 499.5, "log": [10, ["log"]]});
    gives(script, expected).await;
}
