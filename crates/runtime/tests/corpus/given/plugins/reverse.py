from . import register


@register("reverse")
def run(text):
    return text[::-1]
